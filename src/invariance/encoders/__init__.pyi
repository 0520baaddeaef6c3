from .classifier import EncoderClassifier as EncoderClassifier
from .encoder import OnnxEncoder as OnnxEncoder
from .finding import default_encoder as default_encoder
from .networks import NetworkError as NetworkError
