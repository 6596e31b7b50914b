printf 'a 7 1.500000: 1000000 cpu-clock:\n\tffffffff81000010 schedule+0x10 ([kernel.kallsyms])\n\n' | auger annotate schedule -
