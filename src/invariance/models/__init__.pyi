from ._container import ModelError as ModelError
from ._persistence import describe as describe
from ._persistence import load as load
from ._persistence import save as save
