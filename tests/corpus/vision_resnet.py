"""A ResNet as in timm: batch norm in training and evaluation, shortcuts, squeeze-excite."""

import torch
from torch import nn
from torch.nn import functional as F


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.reduce = nn.Conv2d(channels, channels // 4, 1)
        self.expand = nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x):
        scale = x.mean((2, 3), keepdim=True)
        scale = self.expand(F.relu(self.reduce(scale), inplace=True))
        return x * scale.sigmoid()


class Block(nn.Module):
    def __init__(self, before, after, stride, attention=None):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.act = nn.ReLU(inplace=True)
        self.attention = attention(after) if attention is not None else None
        self.downsample = None
        if stride != 1 or before != after:
            self.downsample = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x):
        shortcut = x
        x = self.act(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x))
        if self.attention is not None:
            x = self.attention(x)
        if self.downsample is not None:
            shortcut = self.downsample(shortcut)
        x += shortcut
        return self.act(x)


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, padding=1, bias=False)
        self.pool = nn.MaxPool2d(3, 2, padding=1)
        self.layers = nn.Sequential(
            Block(8, 8, 1), Block(8, 16, 2, SqueezeExcite), Block(16, 32, 2, SqueezeExcite)
        )
        self.drop = nn.Dropout(0.0)
        self.head = nn.Linear(32, 10)

    def forward_features(self, x):
        return self.layers(self.pool(self.stem(x)))

    def forward(self, x):
        x = self.forward_features(x)
        return self.head(self.drop(x.mean((2, 3))))


torch.manual_seed(0)
model = ResNet()
compiled = torch.compile(model, backend="eager")
images = torch.randn(2, 3, 32, 32)
loss = F.cross_entropy(compiled(images), torch.tensor([1, 2]))
loss.backward()
print(round(loss.item(), 4), round(model.stem.weight.grad.abs().sum().item(), 3))
with torch.no_grad():
    print([round(v, 4) for v in compiled.eval()(images)[0, :3].tolist()])
