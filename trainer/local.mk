# trainer
