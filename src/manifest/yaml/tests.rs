//! What the reader refuses and says by itself; what it has from kubectl is held in `tests/it/yaml`.
