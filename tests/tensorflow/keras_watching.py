"""Shared by the tests of `KerasHook`."""

import keras
import tensorflow as tf

import smdebug.tensorflow as smd

EVERYTHING = ["weights", "gradients", "inputs", "outputs", "layers", "optimizer_variables"]


class FunctionalDropout(keras.layers.Layer):
    """Draws random numbers from the state of its graph, also on Keras 3."""

    def call(self, x, training=False):
        return tf.nn.dropout(x, 0.3) if training else x


def recorder(out_dir, interval=3, collections=EVERYTHING, start_step=0, **how):
    config = smd.SaveConfig(save_interval=interval, start_step=start_step)
    return smd.KerasHook(out_dir, include_collections=collections, save_config=config, **how)
