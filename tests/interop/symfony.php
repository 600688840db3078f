<?php
// Symfony's Lock by a majority of nodes, for clients.bash: symfony.php SOCKET...

require 'Predis/autoload.php';
require 'Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\Exception\LockReleasingException;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\CombinedStore;
use Symfony\Component\Lock\Store\RedisStore;
use Symfony\Component\Lock\Strategy\ConsensusStrategy;

$stores = [];
foreach (array_slice($argv, 1) as $path)
	$stores[] = new RedisStore(new Predis\Client(['scheme' => 'unix', 'path' => $path]));
$factory = new LockFactory(new CombinedStore($stores, new ConsensusStrategy()));
$lock = null;

while ($line = fgets(STDIN)) {
	$words = explode(' ', trim($line));
	try {
		switch ($words[0]) {
		case 'take':
			$wanted = $factory->createLock($words[1], $words[2] / 1000, false);
			$answer = $wanted->acquire() ? 'held' : 'refused';
			if ($answer == 'held')
				$lock = $wanted;
			break;
		case 'extend':
			$lock->refresh($words[1] / 1000);
			$answer = 'extended';
			break;
		case 'release':
			$lock->release();
			$answer = 'released';
			break;
		}
	} catch (LockConflictedException | LockReleasingException $e) {
		$answer = 'lost';
	} catch (Throwable $e) {
		$answer = 'failed: ' . $e->getMessage();
	}
	echo $answer, "\n";
}
