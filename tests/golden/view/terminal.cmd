script -qec "auger view '$GOLDEN/../flame/stacks.folded'" /dev/null | tr -d '\r' | sed 's/[0-9.]* KiB/N KiB/'
ls
