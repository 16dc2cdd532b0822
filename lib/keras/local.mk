# keras
