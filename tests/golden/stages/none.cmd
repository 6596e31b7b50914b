auger stages
auger stages nothing.jsonl
auger stages 'nothing*.jsonl'
cp $GOLDEN/results/more/notes.txt .
auger stages notes.txt
mkdir empty
auger stages empty
echo '{"input": "x"}' | auger stages -
auger stages --sort size x
auger stages -o stages.xyz x
