"""What tests of `KerasHook` share."""

import keras
import tensorflow as tf

import smdebug.tensorflow as smd

EVERYTHING = ["weights", "gradients", "inputs", "outputs", "layers", "optimizer_variables"]


class FunctionalDropout(keras.layers.Layer):
    """Draws from the state of its graph, on Keras 3 too."""

    def call(self, x, training=False):
        return tf.nn.dropout(x, 0.3) if training else x


def recorder(out_dir, interval=3, collections=EVERYTHING, start_step=0, **how):
    config = smd.SaveConfig(save_interval=interval, start_step=start_step)
    return smd.KerasHook(out_dir, include_collections=collections, save_config=config, **how)
