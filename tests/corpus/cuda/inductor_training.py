"""A training step through Inductor's kernels: autocast, scaled gradients, a fused optimizer."""

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.LayerNorm(128), torch.nn.Linear(128, 10)
).cuda()
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
scaler = torch.amp.GradScaler("cuda")


@torch.compile
def step(x, y):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = torch.nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    return loss


for size in (32, 32, 48):
    x = torch.randn(size, 64, device="cuda")
    y = torch.randint(0, 10, (size,), device="cuda")
    loss = step(x, y)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    print(f"{loss.item():.3f}")
