auger relocate
auger relocate --pid 1 --job 2 --from . --to new
auger relocate --pid 1 --to new
auger relocate --pid 1 --from .
auger relocate --pid 1 --from . --to new operand
auger relocate --pid 1,two --from . --to new
auger relocate --job 12x --from . --to new
auger relocate --pid 1 --from missing --to new
auger relocate --pid 1 --from . --to new --bandwidth 0
auger relocate --pid 1 --from . --to new --verify hope
ls
auger relocate --undo
auger relocate --undo --to new --pid 1
auger relocate --undo --to missing
