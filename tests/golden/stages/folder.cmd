cd $GOLDEN
auger stages results
