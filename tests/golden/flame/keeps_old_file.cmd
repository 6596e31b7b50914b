echo old >a.svg
echo 'no stacks' | auger flame - -o a.svg
cat a.svg; ls
