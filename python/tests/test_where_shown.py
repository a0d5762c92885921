# ruff: noqa: E501
"""What the hook points of PyTorch and the pains of its users are shown by: tests that exist."""

import ast
import pathlib

import pytest

HERE = pathlib.Path(__file__).parent

# What torch has -> the tests that show what becomes of it. `file::test`, without `test_` and `.py`.
HOOK_POINTS = {
    # tensors
    "parameters at the beginning of a step": "pytorch_names::values_are_those_of_torch_at_the_documented_time",
    "lazy parameters": "pytorch_names::a_lazy_module_is_recorded_from_its_first_step",
    "shared parameters": "pytorch_names::a_shared_parameter_is_saved_once",
    "reparametrised layers": "pytorch_kinds::a_reparametrised_layer_has_the_names_that_torch_gives",
    "inputs": "pytorch_names::an_inplace_module_is_saved_with_its_true_input",
    "outputs": "pytorch_names::values_are_those_of_torch_at_the_documented_time",
    "keyword inputs": "pytorch_arguments::keyword_inputs_follow_the_positional_ones",
    "modules called twice": "pytorch_names::a_module_that_is_called_twice_numbers_on",
    "a forward that raises": "pytorch_faults::a_forward_that_raises_leaves_the_hook_working",
    "gradients of one backward": "pytorch_gradients::gradients_of_backward_are_the_increments",
    "frozen parameters": "pytorch_names::a_frozen_parameter_has_no_gradient_until_it_is_unfrozen",
    "accumulated gradients": "pytorch_gradients::final_gradients_are_accumulated_and_clipped",
    "final gradients": "pytorch_gradients::a_grad_scaler_leaves_no_scale_in_final_gradients",
    "updates that a scaler skips": "pytorch_gradients::an_update_that_the_grad_scaler_skips_has_no_final_gradient",
    "end of backward, reduced gradients": "pytorch_ddp::final_gradients_are_the_reduced_ones_on_every_rank",
    "activation gradients": "pytorch_collections::activation_gradients_are_those_that_torch_computes",
    "loss modules": "pytorch_names::only_losses_are_saved_unless_more_is_asked_for",
    "functional losses": "autostart::a_functional_loss_is_found_at_backward",
    "losses counted once": "autostart::a_recorded_loss_module_is_not_counted_twice",
    "buffers": "pytorch_collections::buffers_are_those_of_the_beginning_of_a_step",
    "optimizer state": "pytorch_collections::the_state_of_an_optimizer_is_that_after_its_step",
    "copies of a model": "pytorch_training::a_deep_copy_of_a_model_trains_on_the_same_hook",
    "saved models": "pytorch_training::a_saved_model_is_loaded_without_a_hook",
    "another dtype": "pytorch_kinds::a_model_that_moves_to_another_dtype_is_followed",
    # modes of execution
    "checkpointing": "pytorch_kinds::a_checkpointed_model_is_recorded_once_and_trains_to_the_same_bits",
    "scripted children": "pytorch_kinds::a_model_with_a_scripted_child_is_recorded_around_it",
    "scripted models": "pytorch_kinds::a_scripted_model_as_a_whole_is_refused_with_what_can_be_recorded",
    "tracing": "user_pains::a_hooked_model_can_be_traced",
    "DataParallel": "pytorch_kinds::data_parallel_is_recorded_as_the_model_inside",
    "DDP": "pytorch_ddp::each_rank_is_a_worker_that_saves_its_own",
    "DDP without sync": "pytorch_ddp::accumulation_without_sync_saves_what_each_backward_leaves",
    "FSDP2": "pytorch_sharded::shards_make_up_the_tensors_of_the_unsharded_model",
    "FSDP2 and tensor parallelism": "pytorch_sharded::parameters_sharded_in_two_ways_have_their_place",
    "autocast": "pytorch_gradients::bfloat16_activations_and_gradients_are_those_of_torch",
    "inference mode": "pytorch_kinds::inference_mode_is_recorded",
    "meta and fake tensors": "pytorch_kinds::a_tensor_without_elements_of_ours_is_skipped_and_said_once",
    "torch.func": "pytorch_kinds::tensors_of_a_function_transform_are_skipped",
    "torch.export": "pytorch_compile::an_exported_program_holds_none_of_our_calls",
    "the transformer's fast path": "pytorch_kinds::the_fast_path_of_a_transformer_layer_gives_way_to_the_hooks",
    "closures of LBFGS": "pytorch_steps::the_closures_of_lbfgs_are_one_step_with_the_last_gradient",
    # torch.compile
    "hooks before the first call": "pytorch_compile::a_compiled_model_saves_what_the_eager_one_saves",
    "hooks after the first call": "pytorch_compile::a_model_that_ran_compiled_before_is_made_to_see_the_hooks_and_that_is_said",
    "hooks that were out when it compiled": "pytorch_between_steps::what_is_compiled_while_the_hooks_are_out_is_made_to_see_them",
    "two graphs and no more": "pytorch_compile::there_is_one_lean_and_one_capturing_graph",
    "inductor, dynamic shapes": "pytorch_compile::inductor_with_shapes_that_change_saves_what_the_eager_model_saves",
    "recomputation inside": "pytorch_compile::what_is_computed_again_in_backward_is_not_saved_again",
    "compiled parts": "pytorch_compile::compiled_submodules_of_an_eager_model_are_recorded",
    "compiled DDP": "pytorch_ddp::a_compiled_wrapper_is_recorded_like_the_eager_one",
    "compiled FSDP2": "pytorch_sharded::a_compiled_sharded_model_saves_what_the_eager_one_saves",
    "a compiled optimizer": "pytorch_gradients::a_compiled_optimizer_is_left_alone_and_said_once",
    "no activation gradients": "pytorch_collections::a_compiled_model_says_once_that_it_has_no_activation_gradients",
    # the launcher
    "an unmodified script": "autostart::an_unmodified_script_is_recorded",
    "training told from evaluation": "autostart::training_and_evaluation_are_told_apart",
    "several roots": "autostart_models::both_models_of_a_gan_are_recorded",
    "a script that compiles": "autostart::a_compiled_model_is_recorded_and_not_compiled_twice",
    "global hooks are gone": "autostart::hooks_on_all_modules_are_gone_after_the_first_step",
    # veto
    "a raise before the update": "rules_in_step::a_rule_may_raise_out_of_the_optimizers_step",
    "a skipped update": "rules_in_step::a_skipped_step_leaves_parameters_and_state_untouched",
    "no skip with a closure": "rules_in_step::an_optimizer_with_a_closure_is_let_through_and_that_is_said",
}

# What must give the same bits with a hook and without.
SAME_BITS = {
    "eager": "pytorch_training::training_is_bit_identical_with_and_without_the_hook",
    "hooks that come and go": "pytorch_between_steps::training_with_dropout_is_bit_identical_while_hooks_come_and_go",
    "every collection": "pytorch_collections::training_is_bit_identical_with_all_that_can_be_saved",
    "compiled": "pytorch_compile::training_with_inductor_and_dropout_is_bit_identical",
    "DDP": "pytorch_ddp::the_training_is_the_same_bit_for_bit_and_calls_as_many_collectives",
    "FSDP2": "pytorch_sharded::a_sharded_training_is_the_same_bit_for_bit_and_calls_as_many_collectives",
    "a GAN": "pytorch_steps::a_gan_trains_to_the_same_bits",
    "an unmodified script": "autostart::the_script_gives_the_same_bits",
    "rules in the step": "rules_in_step::rules_that_do_not_fire_change_no_bit_of_the_training",
}

# What users of such tools complain of, where it is about PyTorch.
PAINS = {
    "scripted and traced models break": "user_pains::a_scripted_training_under_smdebug_run_goes_on",
    "frozen parameters crash": "pytorch_names::a_frozen_parameter_has_no_gradient_until_it_is_unfrozen",
    "in-place layers crash": "pytorch_names::an_inplace_module_is_saved_with_its_true_input",
    "it is on without being asked": "user_pains::nothing_is_switched_on_without_being_asked",
    "it saves nothing and tells nobody": "user_pains::a_pattern_that_matches_nothing_is_said_after_the_first_step",
    "it switches itself off in silence": "pytorch_faults::a_mistake_of_ours_is_latched_and_the_training_goes_on",
    "private names go in an upgrade": "pytorch_between_steps::without_torchs_private_tables_new_hooks_come_in",
    "overhead": "user_pains::a_step_that_saves_nothing_costs_as_many_calls_however_large_the_model",
    "overhead of gradients": "user_pains::a_step_that_saves_nothing_costs_backward_no_call",
    "memory grows": "user_pains::memory_does_not_grow_with_the_steps",
    "files grow": "termination::a_run_stays_below_its_limit",
    "torch.compile ignores hooks": "pytorch_compile::a_compiled_model_saves_what_the_eager_one_saves",
    "shards and partial gradients": "pytorch_sharded::shards_make_up_the_tensors_of_the_unsharded_model",
    "gathering of shards": "pytorch_sharded::a_sharded_training_is_the_same_bit_for_bit_and_calls_as_many_collectives",
    "DDP hangs": "pytorch_ddp::the_training_is_the_same_bit_for_bit_and_calls_as_many_collectives",
    "accumulated batches skew steps": "pytorch_steps::batches_that_are_accumulated_are_one_step",
    "a resumed training counts wrong": "termination::steps_go_on_where_a_checkpoint_was_taken",
    "one cannot choose what to watch": "pytorch_names::collections_and_patterns_choose_tensors",
    "a schedule cannot change": "pytorch_hook::an_edit_during_training_takes_effect_at_the_next_step",
    "the first NaN is not found": "user_pains::the_first_step_with_a_nan_is_found",
    "bfloat16 and friends": "pytorch_gradients::bfloat16_activations_and_gradients_are_those_of_torch",
    "trainers": "trainer_transformers::the_training_has_the_same_bits",
    "functional losses": "autostart::a_functional_loss_is_found_at_backward",
}


def names_in(file):
    tree = ast.parse((HERE / f"test_{file}.py").read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("table", [HOOK_POINTS, SAME_BITS, PAINS])
def test_everything_is_shown_by_a_test_that_exists(table):
    missing = []
    for what, place in table.items():
        file, test = place.split("::")
        if f"test_{test}" not in names_in(file):
            missing.append(f"{what}: {place}")
    assert not missing
