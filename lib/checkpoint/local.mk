# checkpoint
