# tensor
