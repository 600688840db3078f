// past.js VALUE...: as tests/tools/past.c, in JavaScript. A value that is no number is not before
// any time.
for (const value of process.argv.slice(2)) {
	const conversions = { parseInt: (v) => parseInt(v, 10), parseFloat, Number, text: (v) => v };
	for (const [name, conversion] of Object.entries(conversions))
		if (conversion(value) < Date.now()) console.log(name, value);
	if (!(parseInt(value, 10) > Date.now()) || !(parseFloat(value) > Date.now())) console.log("later", value);
}
