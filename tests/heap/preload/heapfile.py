# SPDX-License-Identifier: MIT
"""heapfile: reads the file that libauger-heap.so keeps (src/wire/heap.h), for its tests."""
import bisect
import collections
import glob
import os
import struct
import subprocess

HEADER = struct.Struct('<8sIIIIiiQQQQII8I qqQQ QQQQQ')
MAPPING = struct.Struct('<QQQQQQIII36x32s')
NODE = struct.Struct('<QII')
SITE = struct.Struct('<II QQQQ Q qq QQ Q II 32x')
STRINGS, MAPPINGS, NODES, SITES = 1, 2, 3, 4
EXACT_PEAK, FORKED, ENDED, FULL = 1, 2, 4, 8
NO_MAPPING = 0xffffffff

Totals = collections.namedtuple('Totals', 'objects bytes live live_bytes peak peak_bytes temporary temporary_bytes moves')


class Symbols:
    """The functions of a file, by address."""
    files = {}

    @classmethod
    def name(cls, path, vaddr):
        if path not in cls.files:
            symbols = {}
            for option in ([], ['-D']):
                out = subprocess.run(['nm', '--defined-only', *option, path], capture_output=True, text=True).stdout
                for line in out.splitlines():
                    words = line.split()
                    if len(words) == 3 and words[1] in 'tTwWi':
                        symbols.setdefault(int(words[0], 16), words[2].split('@')[0])
            addresses = sorted(symbols)
            cls.files[path] = addresses, [symbols[a] for a in addresses]
        addresses, names = cls.files[path]
        at = bisect.bisect_right(addresses, vaddr) - 1
        return names[at] if at >= 0 else '?'


class HeapFile:
    def __init__(self, path):
        with open(path, 'rb') as f:
            data = f.read()
        self.size = len(data)
        v = HEADER.unpack_from(data)
        assert v[0] == b'augheap\0', v[0]
        (self.version, header_size, chunk, self.machine, self.pid, self.parent, self.start_ticks, self.start_ns,
         self.end_ns, self.period, program, arguments, self.flags, chunks, self.string_bytes, mappings, nodes, sites,
         self.threads, _, self.live, self.peak, self.peak_no, self.is_peaking, self.unknown_frees,
         self.inherited_frees, self.missed, self.cut_stacks, self.slow_walks) = v[1:]
        kinds = data[4096:4096 + chunks]
        places = collections.defaultdict(bytearray)
        for i, kind in enumerate(kinds):
            places[kind] += data[header_size + i * chunk:header_size + (i + 1) * chunk]
        self.strings = places[STRINGS]
        self.program, self.arguments = self.string(program), self.string(arguments)
        self.mappings = [MAPPING.unpack_from(places[MAPPINGS], i * 128) for i in range(mappings)]
        self.nodes = [NODE.unpack_from(places[NODES], i * 16) for i in range(nodes)]
        self.sites = [SITE.unpack_from(places[SITES], i * 128) for i in range(sites)]

    def string(self, at):
        return '' if at == NO_MAPPING else self.strings[at:self.strings.index(b'\0', at)].decode()

    def frame(self, node):
        address, _, mapping = self.nodes[node]
        if mapping == NO_MAPPING:
            return '?', hex(address)
        m = self.mappings[mapping]
        path = self.string(m[6])
        if not os.path.exists(path):
            return path, hex(address - m[3])
        return path, Symbols.name(path, address - m[3])

    def stack(self, node):
        """Function names, innermost first."""
        names = []
        while node:
            names.append(self.frame(node)[1])
            node = self.nodes[node][1]
        return names

    def totals(self, site):
        (_, _, made, made_bytes, freed, freed_bytes, peak_no, peak, peak_bytes, temporary, temporary_bytes, moves) = site[:12]
        live, live_bytes = made - freed, made_bytes - freed_bytes
        if peak_no != self.peak_no or self.is_peaking:
            peak, peak_bytes = live, live_bytes
        return Totals(made, made_bytes, live, live_bytes, peak, peak_bytes, temporary, temporary_bytes, moves)

    def by_function(self, pick=lambda names: True):
        """Sums of all sites whose stack has the function, once for each function."""
        sums = collections.defaultdict(lambda: Totals(*[0] * 9))
        for site in self.sites:
            names = self.stack(site[0])
            if pick(names):
                for name in set(names):
                    sums[name] = Totals(*map(sum, zip(sums[name], self.totals(site))))
        return sums

    def total(self):
        return Totals(*map(sum, zip(*[self.totals(s) for s in self.sites])))


def files(folder):
    return [HeapFile(p) for p in sorted(glob.glob(os.path.join(folder, 'heap.*')))]


if __name__ == '__main__':
    import sys
    f = HeapFile(sys.argv[1])
    print(f.program, f.arguments, 'pid', f.pid, 'flags', f.flags, 'size', f.size, 'threads', f.threads)
    print('live', f.live, 'peak', f.peak, 'peak_no', f.peak_no, 'peaking', f.is_peaking, 'unknown', f.unknown_frees,
          'inherited', f.inherited_frees, 'missed', f.missed, 'cut', f.cut_stacks, 'slow', f.slow_walks)
    print('mappings', len(f.mappings), 'nodes', len(f.nodes), 'sites', len(f.sites), f.total())
    for site in sorted(f.sites, key=lambda s: -f.totals(s).bytes)[:int(sys.argv[2]) if len(sys.argv) > 2 else 8]:
        print(f.totals(site), ' < '.join(f.stack(site[0])))
