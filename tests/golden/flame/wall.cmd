# A profile of waiting: made by hand (protoc --encode).
cd "$GOLDEN"
auger flame --wall waiting.pb.gz | awk '/id="frames"/, /^<\/g>/; /id="head"/, /^<\/g>/; /id="foot"/, /id="detail"/'
