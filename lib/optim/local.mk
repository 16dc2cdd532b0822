# optim
