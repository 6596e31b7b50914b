cd $GOLDEN
auger stages --strict results
