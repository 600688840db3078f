# install_node_packages BUILD_FOLDER LOG: the packages of node-redlock.js, by npm, kept in BUILD_FOLDER/bench-node;
# exports NODE_PATH. npm's messages go to LOG.
install_node_packages() {
	local folder=$1/bench-node log=$2 wanted

	wanted=$(dirname "${BASH_SOURCE[0]}")/package.json
	export NODE_PATH=$folder/node_modules
	cmp -s "$wanted" "$folder/installed.json" && return
	mkdir -p "$folder" && cp "$wanted" "$folder/package.json" || return
	(cd "$folder" && timeout 180 npm install --ignore-scripts --no-audit --no-fund \
		--no-package-lock --loglevel=error --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000) > "$log" 2>&1 < /dev/null || return
	cp "$wanted" "$folder/installed.json"
}
