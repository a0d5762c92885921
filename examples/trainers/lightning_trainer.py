"""A small network under Lightning's Trainer; a rule stops it."""

import sys

import lightning.pytorch as lightning
import torch

import smdebug.pytorch as smd
from smdebug.pytorch.lightning import SMDebugCallback

out_dir = sys.argv[1] if len(sys.argv) > 1 else "lightning-run"


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(4, 8), torch.nn.Sigmoid(), torch.nn.Linear(8, 1)
        )

    def training_step(self, batch, batch_idx):
        x, y = batch
        return torch.nn.functional.mse_loss(self.layers(x), y)

    def on_train_epoch_start(self):
        if self.current_epoch == 2:
            torch.nn.init.constant_(self.layers[0].bias, 1e3)  # the mistake: it saturates

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


torch.manual_seed(0)
x = torch.randn(32, 4)
data = torch.utils.data.TensorDataset(x, x.sum(dim=1, keepdim=True))

trainer = lightning.Trainer(
    max_epochs=20,
    accumulate_grad_batches=2,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
    callbacks=[
        SMDebugCallback(
            out_dir,
            rules=[("VanishingGradient", {"threshold": 1e-9})],
            save_config=smd.SaveConfig(save_interval=1),
        )
    ],
)
trainer.fit(Net(), torch.utils.data.DataLoader(data, batch_size=4))
print(f"stopped after {trainer.global_step} updates")
