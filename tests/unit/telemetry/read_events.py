"""Prints the scalars of an event folder as TensorBoard itself reads them, as JSON: {tag: [[step, value], ...]}."""

import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

accumulator = EventAccumulator(sys.argv[1])
accumulator.Reload()
print(json.dumps({tag: [[event.step, event.value] for event in accumulator.Scalars(tag)]
                  for tag in accumulator.Tags()["scalars"]}))
