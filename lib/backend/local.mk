# backend
