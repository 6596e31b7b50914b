auger flame - </dev/null
