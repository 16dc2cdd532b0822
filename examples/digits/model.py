"""The model of train.cfg as Keras 3 saves it: python3 model.py > model.json"""

import keras
from keras import layers

stack = [keras.Input((8, 8, 1), name="image"), layers.Rescaling(1 / 16, name="to_unit")]
for block, filters in enumerate((32, 64), 1):
    stack += [
        layers.Conv2D(filters, 3, padding="same", use_bias=False, name=f"conv{block}"),
        layers.BatchNormalization(momentum=0.9, name=f"norm{block}"),
        layers.ReLU(name=f"relu{block}"),
        layers.MaxPooling2D(2, name=f"pool{block}"),
    ]
stack += [
    layers.Flatten(name="flatten"),
    layers.Dropout(0.4, name="dropout"),
    layers.Dense(10, activation="softmax", name="digit"),
]
print(keras.Sequential(stack, name="digits_convnet").to_json(indent=1))
