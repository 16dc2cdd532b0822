# backend/cpu
