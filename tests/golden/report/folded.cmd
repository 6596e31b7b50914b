printf 'main;fill;fault_[k] 4\nmain;fill;add_[i] 2\nmain 1\n' | auger report -
