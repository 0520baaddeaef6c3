"""Pretrained networks as descriptors: any ONNX network of images, and one that a package brings along."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
