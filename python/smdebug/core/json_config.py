"""Import path of the original library."""

from smdebug.json_config import create_hook_from_json_config, get_json_config_as_dict

__all__ = ["create_hook_from_json_config", "get_json_config_as_dict"]
