printf '</title>]]>&amp\001\033[1m\377\303 1\n\357\277\277\342\200\256"x\047 2\n' | auger flame - -o a.svg --title ']]>\001&'
xmllint --noout a.svg && echo valid
python3 -c 'print(";".join(f"f{i}" for i in range(25000)), 1)' | auger flame - -o deep.svg
xmllint --huge --noout deep.svg && echo valid
