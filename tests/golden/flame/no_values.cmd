: >a.pb && auger flame --from pprof a.pb
