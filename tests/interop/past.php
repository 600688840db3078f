<?php
// past.php VALUE...: as tests/tools/past.c, in PHP.
error_reporting(E_ERROR);
$now = microtime(true);
foreach (array_slice($argv, 1) as $value) {
	$readings = ['int' => (int) $value, 'intval' => intval($value), 'float' => (float) $value,
		'floatval' => floatval($value), 'text' => $value];
	foreach ($readings as $name => $reading)
		foreach ([(int) $now, $now, (int) ($now * 1000), $now * 1000] as $time)
			if (!($reading > $time) || $reading < $time)
				echo "$name $value\n";
}
