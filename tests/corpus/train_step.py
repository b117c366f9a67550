"""A training step with SGD and Adam: a small model, its loss, backward, the optimizer's step."""

import torch
from torch import nn


def train(make_optimizer):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = make_optimizer(model.parameters())
    data, target = torch.randn(16, 4), torch.randn(16, 1)

    @torch.compile(backend="eager")
    def forward(x, y):
        return nn.functional.mse_loss(model(x), y)

    @torch.compile(backend="eager")
    def step():
        optimizer.step()

    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = forward(data, target)
        loss.backward()
        step()
        losses.append(round(loss.item(), 5))
    return losses


print("SGD", train(lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9)))
print("Adam", train(lambda parameters: torch.optim.Adam(parameters, lr=0.01)))
