auger flame --diff a b c
