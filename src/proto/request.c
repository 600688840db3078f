#include "proto/request.h"

#include "base/duration.h"
#include "base/text.h"
#include "base/token.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * Every script answers {code, pttl, text, run_id, marks} and, where there is one, a fencing number:
 * code 1 yes, 0 somebody else's, -1 gone, 2 free, but another one's turn, 3 in quarantine for pttl,
 * 4 its clock is off by pttl, 5 the fencing counter `text` cannot be raised. Of several keys, a
 * vote is about all of them: YES if each one is ours, else what is said of the first that is not.
 * Marks are numbers added up: 2^i for each key i that others wait for, MARK_INDEX times the index
 * of the key that the answer is about, MARK_PARTIAL if one of them is ours all the same,
 * MARK_UNGUARDED if the node cannot tell whether it forgot, MARK_SHARED if the key is readers'. Who
 * is refused a semaphore's slot finds behind the number another slot that is free (0: none), and
 * when the first of them ends.
 *
 * `look` reads the keys; one of another type (Redisson keeps a hash) is somebody else's.
 */
_Static_assert(1 << KEYS_MAX <= MARK_INDEX && KEYS_MAX * MARK_INDEX <= MARK_PARTIAL,
	"what is added up is kept apart");
_Static_assert(MARK_INDEX == 65536 && MARK_PARTIAL == 1048576 && MARK_UNGUARDED == 2097152 &&
		       MARK_SHARED == 4194304,
	"scripts have them as numbers");

/*
 * Readers have a key together. It is a string like any other, so that all who do not share see a
 * lock, with an id of its own and the readers' names; beside it is a sorted set of their tokens, by
 * when each ends. Whoever asks sees the key as it is to it (`value`): its own token, if it is one
 * of them; nothing, if it would join them; else that somebody has it. `ends` is
 * when the asker's own token expires: the other readers, and so the key, may leave earlier or
 * later. ARGV[11] are the ids of locks that the asker runs within: a reader does not become a
 * writer.
 */
#define AMONG_READERS \
	"local shared,group,mine,held,ends,now=find(ARGV[4],'s',1,true),{},{},{},{},nil " \
	"local function readers(i) return 'redlock:readers:{'..KEYS[i]..'}' end " \
	"local function clock() if not now then local t=call('TIME') " \
	"now=t[1]*1000+math.floor(t[2]/1000) end return now end " \
	"local function translate(i) local v=value[i] " \
	"if not v or not text[i] or sub(v,1,41)~='" TOKEN_READERS ":' then return end " \
	"value[i]=nil " \
	"local m=call('ZRANGEBYSCORE',readers(i),clock(),'+inf','WITHSCORES') " \
	"for j=1,#m,2 do local t=m[j] group[i]=v " \
	"if named(t) then mine[i],ends[i]=t,m[j+1] " \
	"elseif find(ARGV[11],sub(t,1,40),1,true) then held[i]=t end end " \
	"value[i]=mine[i] or (not shared and (held[i] or group[i])) or nil end "

/* named(): is that value, or reader, the asker's? Scripts between two steps know the id only. */
#define SCRIPT_LOOK(K) \
	"local " \
	"call,try,sub,find,match=redis.call,redis.pcall,string.sub,string.find,string.match " \
	"local value,text,partial={},{},0 " \
	"local function named(v) return v==ARGV[1] or " \
	"(#ARGV[1]==40 and sub(v,1,41)==ARGV[1]..':') end " \
	"for i,k in ipairs(KEYS) do local v=try('GET',k) text[i]=true " \
	"if type(v)=='table' then " \
	"if not find(v.err,'WRONGTYPE',1,true) then return v end text[i]=false " \
	"v='('..call('TYPE',k).ok..')' end value[i]=v end " K##_READERS \
		"for i=1,#KEYS do translate(i) end " \
		"local function marks(i) return (i-1)*65536+partial+(group[i] and 4194304 or 0) " \
		"end " \
		"local function other(i) return {0,call('PTTL',KEYS[i])," \
		"sub(value[i],1,300),'',marks(i)} end "

#define SCRIPT_OURS "local function ours(i) local v=value[i] return v and text[i] and named(v) end "

/*
 * How a key is set, prolonged and taken away. What readers have together lasts as long as the last
 * of them. remove() tells whether it is gone now. enlist() sets the set's TTL before and after
 * ZADD: without the right to PEXPIRE, the script ends before the set exists; without a right that
 * regroup() needs, the set expires, but not before a reader in it.
 */
#define AMONG_STORE \
	"local function regroup(i) local z,names,since,last=readers(i),{},nil,0 " \
	"call('ZREMRANGEBYSCORE',z,'-inf','('..clock()) " \
	"local m=call('ZRANGE',z,0,-1,'WITHSCORES') " \
	"if #m==0 then call('DEL',KEYS[i],z) return true end " \
	"for j=1,#m,2 do last=math.max(last,tonumber(m[j+1])) " \
	"local s,name=match(m[j],'^%x+:(%d%d%d%d%d%d%d%d%d%d) (.*)$') " \
	"names[#names+1]=name or '?' " \
	"if s and (not since or s<since) then since=s end end " \
	"local n=#names table.sort(names) " \
	"names=n<=16 and sub(table.concat(names,', '),1,200) or '' " \
	"local v='" TOKEN_READERS ":'..(since or '0000000000')..' ' " \
	"..(n==1 and 'reader ' or n..' readers'..(n<=16 and ': ' or ''))..names " \
	"last=math.max(last-clock(),1) call('SET',KEYS[i],v,'PX',last) " \
	"call('PEXPIRE',z,last) end " \
	"local function enlist(i,t,ms) local z=readers(i) local p=math.max(ms,call('PTTL',z)) " \
	"call('PEXPIRE',z,p) call('ZADD',z,clock()+ms,t) call('PEXPIRE',z,p) regroup(i) end " \
	"local function put(i,ms) " \
	"if not shared then call('SET',KEYS[i],ARGV[1],'PX',ms) return end " \
	"if not group[i] then call('DEL',readers(i)) end enlist(i,ARGV[1],ms) end " \
	"local function prolong(i,ms) if mine[i] then enlist(i,mine[i],ms) " \
	"else call('PEXPIRE',KEYS[i],ms) end end " \
	"local function remove(i) if not mine[i] then call('DEL',KEYS[i]) " \
	"if group[i] then call('DEL',readers(i)) end return true end " \
	"call('ZREM',readers(i),mine[i]) return regroup(i) end "

/*
 * Who is not one of them, and runs within none, sees somebody's key. All scripts are there in both
 * ways: an attempt and its release that wait in the socket of a stopped server must be read in one
 * go, for Redis drops what it has not read (16 kB at a time) when it finds that the client is gone.
 */
#define ALONE_READERS \
	"local shared,group,mine,held,ends=nil,{},{},{},{} local function translate(i) " \
	"local v=value[i] " \
	"if v and text[i] and sub(v,1,41)=='" TOKEN_READERS ":' then group[i]=v end end "
#define ALONE_STORE \
	"local function put(i,ms) call('SET',KEYS[i],ARGV[1],'PX',ms) end " \
	"local function prolong(i,ms) call('PEXPIRE',KEYS[i],ms) end " \
	"local function remove(i) call('DEL',KEYS[i]) return true end "

/* The first key that is somebody else's, the first that is gone; and is any one ours? */
#define SCRIPT_SORT \
	"local foreign,gone for i=1,#KEYS do " \
	"if not value[i] then gone=gone or i " \
	"elseif not ours(i) then foreign=foreign or i " \
	"else partial=1048576 end end "

/* Which life of which server this is. */
#define SCRIPT_ID \
	"local id=try('INFO','server') " \
	"id=type(id)=='string' and match(id,'run_id:(%x+)') or '' "

/*
 * A node that restarted empty, was flushed, restored or failed over must not vote on locks that it
 * has forgotten. So it is marked with its run id, which is another one in each life of a server
 * (its uptime follows the wall clock, and does not tell of FLUSHALL), and, if it was promoted, with
 * the id of its data's history, which is another one after each promotion: its data may be another
 * master's, from before the lock, with our mark in them. The id alone tells nothing: the first
 * replica, or a backup, gets a new one, and so does a master that has been without replicas for
 * repl-backlog-ttl, for the same data; then the second id is cleared. Without that mark, it has no
 * vote for as long as a lock can last; whoever's locks last longer makes that longer. The mark says
 * until when, by the node's clock and by that of whoever asked: one of them alone may be stepped.
 * It has no end of its own: a clock that was stepped, and back, would take it away; nor is it
 * believed for longer than it says: it may be a wrong clock's. Whose time of day is not ours has no
 * vote either, and nothing is changed there. One script is one life: nothing comes between the look
 * and the vote.
 */
#define SCRIPT_GUARD \
	"local unguarded=0 " \
	"local function guard() local d=tonumber(ARGV[7]) if d==0 then return end " \
	"local now,mark=try('TIME'),try('GET','{redlock}:node') " \
	"if type(mark)=='table' and find(mark.err,'WRONGTYPE',1,true) then mark='' end " \
	"if id=='' or now.err or type(mark)=='table' then unguarded=2097152 return end " \
	"local history=try('INFO','replication') " \
	"history=type(history)=='string' and " \
	"not find(history,'role:master.*second_repl_offset:%-1') and " \
	"match(history,'master_replid:(%x+)') or '0' " \
	"now=now[1]*1000+math.floor(now[2]/1000) local ours=math.floor(ARGV[8]/1000) " \
	"local off=now-ours if math.abs(off)>30000 then " \
	"return {4,math.abs(off),off>0 and 'ahead of' or 'behind',id,partial} end " \
	"local over,given,wall,was=match(mark or '','^'..id..' (%d+) (%d+) (%d+) (%x+)$') " \
	"if history~='0' and history~=was then over,given,wall=nil end " \
	"if mark==id then over,given,wall=0,1,0 " \
	"else over,wall=tonumber(over or now),tonumber(wall or ours) " \
	"given=math.min(tonumber(given or 0),math.max(d,90000000)) " \
	"if given>0 and now>=over and ours>=wall then return end " \
	"over=math.min(over,now+given) if wall>ours+given+60000 then wall=ours+given end " \
	"if d>given then over,wall,given=over+d-given,wall+d-given,d end end " \
	"local text=string.format('%s %.0f %.0f %.0f %s',id,over,given,wall,history) " \
	"if text~=mark then local set=try('SET','{redlock}:node',text) " \
	"if set.err then unguarded=2097152 return end end " \
	"if over>now or wall>ours then " \
	"return {3,math.max(over-now,wall-ours),'',id,partial} end end "
_Static_assert(
	SKEW_MAX_MS == 30000 && QUARANTINE_BELIEVED_MS == 90000000, "scripts have them as numbers");

/*
 * What is kept beside each key for those who wait; all of it expires. LINE: somebody waits at this
 * node. WAKE: a list that they block on, and Redis serves them in order of arrival; its only
 * element is the turn. TURN: whose turn it is while the key is free; but where WAKE has it still,
 * nobody was there to be woken. A user may have no right to any of it: then redis.pcall says so,
 * and nobody is woken.
 *
 * turn_of() answers the turn; one that does not expire, or not within an hour, was not written by a
 * release and is removed: it would keep all clients out.
 *
 * A writer that was woken, and finds readers there, must not go to the end of the line: HEAD says
 * that one waits at the DOOR, a list like WAKE, and has the next turn. It blocks on both, so that
 * one who is overlooked is served all the same.
 */
#define SCRIPT_LINE \
	"local base,slots=ARGV[9],tonumber(ARGV[10]) " \
	"local own=slots>1 and sub(KEYS[1],#base+1) or '' " \
	"local function line(i) return 'redlock:line:{'..(own=='' and KEYS[i] or base)..'}' end " \
	"local function wake(i) return 'redlock:wake:{'..(own=='' and KEYS[i] or base)..'}' end " \
	"local function turn(i) return 'redlock:turn:{'..(own=='' and KEYS[i] or base..own)..'}' " \
	"end " \
	"local function turn_of(i) local t=try('GET',turn(i)) " \
	"local p=type(t)=='string' and try('PTTL',turn(i)) " \
	"if type(p)=='number' and (p<0 or p>3600000) then try('DEL',turn(i)) t=false end " \
	"return t end " \
	"local function door(i) return 'redlock:door:{'..KEYS[i]..'}' end " \
	"local function head(i) return 'redlock:head:{'..KEYS[i]..'}' end " \
	"local function awaited(i) return try('EXISTS',line(i))==1 end " \
	"local function is_led(i) return try('EXISTS',head(i))==1 end "

/*
 * All slots of a semaphore have one line, and one list to block on: `own` is the slot that this is
 * about ("#3"), and each has a turn of its own. An element of the list is a turn's id with the slot
 * behind it, so the list has one for each slot at most. settle(): who waited at the door is not
 * there any more, so the line has the turn; whether anybody there takes it shows when the script
 * has ended. settle() and push() try PEXPIRE first: without the right to it, they write no list.
 */
#define SCRIPT_LIST \
	"local settled={} " \
	"local function is_mine(t) return t==ARGV[3] or " \
	"(#ARGV[3]>40 and find(ARGV[3],t,1,true)~=nil) end " \
	"local function lies(mark) for _,e in ipairs(try('LRANGE',wake(1),0,-1)) do " \
	"if sub(e,41)==mark then return true end end return false end " \
	"local function unused(i) " \
	"if own=='' then return not settled[i] and try('EXISTS',wake(i))==1 end " \
	"return lies(own) end " \
	"local function drop(i) if own=='' then try('DEL',wake(i)) " \
	"try('DEL',door(i)) return end " \
	"for _,e in ipairs(try('LRANGE',wake(i),0,-1)) do " \
	"if sub(e,41)==own then try('LREM',wake(i),0,e) end end end "

#define SCRIPT_SETTLE \
	"local function settle(i) local p=own=='' and try('PTTL',door(i)) " \
	"if type(p)=='number' and p>0 and try('EXISTS',wake(i))==0 and " \
	"try('PEXPIRE',wake(i),p)==0 then " \
	"settled[i]=type(try('RPOPLPUSH',door(i),wake(i)))=='string' " \
	"try('PEXPIRE',wake(i),p) end end "

/* Another slot that is free here, and nobody's turn, else 0; and when the first of them may be.
 * From the own one on, so that those who look spread. */
#define ALONE_ELSEWHERE \
	"local function elsewhere(o) if own=='' then return o end " \
	"local at,soon=tonumber(sub(own,2)),-1 o[6]=o[6] or 0 " \
	"for n=0,slots-1 do local j=(at+n-1)%slots+1 local k=base..'#'..j " \
	"local left=call('PTTL',k) if left==-2 then " \
	"local t=try('GET','redlock:turn:{'..k..'}') " \
	"if type(t)~='string' or t==ARGV[3] or lies('#'..j) then o[7],o[8]=j,0 return o end " \
	"left=call('PTTL','redlock:turn:{'..k..'}') end " \
	"if left>=0 and (soon<0 or left<soon) then soon=left end end " \
	"o[7],o[8]=0,soon return o end "
/* A semaphore is not shared: its requests use the other variant. */
#define AMONG_ELSEWHERE "local function elsewhere(o) return o end "

/*
 * Where the clock is wrong, a turn is not kept: set right, it would last for as long as that.
 * beckon() is for readers: the first in line may come in too, with the word that brought the last
 * one. Where nobody takes that, it lies for as long as somebody is known to wait: nobody does.
 */
#define SCRIPT_WAKE \
	SCRIPT_LIST \
	"local function push(i,ms,id) local w=wake(i) drop(i) " \
	"if own=='' and try('DEL',head(i))==1 then w=door(i) end " \
	"if own~='' then local p=try('PTTL',w) " \
	"ms=math.max(tonumber(ms),type(p)=='number' and p or 0) end " \
	"if tonumber(try('PEXPIRE',w,ms)) then " \
	"try('RPUSH',w,id..own) try('PEXPIRE',w,ms) end end " \
	"local function skewed() if tonumber(ARGV[7])==0 then return false end " \
	"local t=try('TIME') if t.err then return false end " \
	"return math.abs(t[1]*1000000+t[2]-ARGV[8])>30000000 end " \
	"local function pass(i,ms,here,id) id=id or sub(ARGV[1],1,40) " \
	"if not skewed() then try('SET',turn(i),id,'PX',ms) end " \
	"if here then push(i,ms,id) end end " \
	"local function beckon(i) local p=try('PTTL',line(i)) " \
	"if type(p)=='number' and p>0 and not is_led(i) then " \
	"push(i,p,sub(ARGV[3]~='' and ARGV[3] or ARGV[1],1,40)) end end "
_Static_assert(TOKEN_ID_LEN == 40 && sizeof(TOKEN_NINES) == 14, "scripts have them as numbers");

/* Who waits goes on waiting, whatever is answered: that is known for as long as it may take. */
#define SCRIPT_STAY \
	"local seat=tonumber(ARGV[6]) " \
	"if find(ARGV[4],'w',1,true) then local p=try('PTTL',line(seat)) " \
	"local keep=math.max((value[seat] or group[seat]) and call('PTTL',KEYS[seat]) or 0," \
	"tonumber(ARGV[2]))+1000 " \
	"if type(p)=='number' and p<keep then try('SET',line(seat),'1','PX',keep) end " \
	"if find(ARGV[4],'d',1,true) then try('SET',head(seat),'1','PX',keep) end end "

/*
 * The fencing number of a key: raised before the key is set, so that a key that may not be numbered
 * is not taken. It does not expire. Several keys have one number, above the counter of each.
 *
 * raise() answers the larger of the counter + 1 and the client's time of day in microseconds; all
 * nodes of an attempt see the same time, so nodes with different counters give equal answers. A
 * node that lost its counter, or has an older one, therefore needs no state to give a number above
 * those that it forgot: time has passed. It believes the client's time only as far as that differs
 * from its own by less than a quarter of the quarantine, `s`. A forgotten number is at most s ahead
 * of the clock of a node that gave it, a new one at most s behind the clock of a node that waited
 * for the whole quarantine: the new one is larger if those clocks differ by less than half the
 * quarantine. Scripts count in doubles, which are exact below 2^53: at the limit, and where the
 * counter is no number, `broken` is the counter's key.
 */
#define SCRIPT_FENCE \
	"local broken local function fence(i) return 'redlock:fence:{'..KEYS[i]..'}' end " \
	"local function last() local n=0 for i=1,#KEYS do local v=try('GET',fence(i)) " \
	"if type(v)=='table' then v=find(v.err,'WRONGTYPE',1,true) and '?' end " \
	"local c=v and (tonumber(match(v,'^%d+$')) or 1/0) or 0 " \
	"if c>=9007199254740991 then broken=broken or fence(i) end " \
	"if c<1/0 then n=math.max(n,math.min(c,9007199254740991)) end end return n end " \
	"local function number(n) for i=1,#KEYS do " \
	"call('SET',fence(i),string.format('%.0f',n)) end return n end " \
	"local function raise() local n,t=last(),call('TIME') if broken then return end " \
	"local now,s=t[1]*1000000+t[2],ARGV[7]*250 if s==0 or s>30000000 then s=30000000 end " \
	"return number(math.max(n+1,math.min(math.max(ARGV[8],now-s),now+s))) end "
_Static_assert(FENCE_MAX == ((int64_t)1 << 53) - 1 && SKEW_MAX_MS == 30000,
	"scripts have them as numbers");

/* Who would join readers comes after those who wait, be they one writer: unless it was beckoned, or
 * is within one of them. Of those who wait, nobody may be left. */
#define SCRIPT_HEED \
	"local function is_led_in(i) return (ARGV[3]~='' and i==seat) or held[i] end " \
	"local function is_late(i) return group[i] and not value[i] and awaited(i) and " \
	"not is_led_in(i) and not unused(i) end "

/* All of the keys or none. A turn that nobody came for tells who waits here: nobody. */
#define ACQUIRE(K) \
	SCRIPT_LOOK(K) \
	SCRIPT_OURS K##_STORE SCRIPT_SORT SCRIPT_ID SCRIPT_GUARD SCRIPT_LINE SCRIPT_WAKE \
		SCRIPT_SETTLE K##_ELSEWHERE SCRIPT_FENCE SCRIPT_STAY SCRIPT_HEED \
		"local r=guard() " \
		"if foreign then local o=other(foreign) o[4]=id return elsewhere(o) end " \
		"if r then return r end " \
		"local w,t,n,unclaimed,fair=0,{},0,nil,find(ARGV[4],'f',1,true) " \
		"for i=1,#KEYS do settle(i) local here=awaited(i) " \
		"if fair and is_late(i) then beckon(i) w=w+2^(i-1) " \
		"return {2,call('PTTL',KEYS[i]),sub(group[i],1,300),id,marks(i)+w} end " \
		"if fair and here and group[i] and not value[i] and not is_led_in(i) then " \
		"try('DEL',line(i)) drop(i) here=false end " \
		"if here then w=w+2^(i-1) end " \
		"if not value[i] and not group[i] then t[i]=turn_of(i) " \
		"if type(t[i])=='string' and not is_mine(t[i]) and not unused(i) then " \
		"return elsewhere({2,call('PTTL',turn(i)),'',id,marks(i)+w}) end " \
		"if here and not t[i] and not (ARGV[3]~='' and i==seat) and fair then " \
		"pass(i,ARGV[5],true) return {2,tonumber(ARGV[5]),'',id,marks(i)+w} end end end " \
		"if find(ARGV[4],'n',1,true) then n=gone and raise() or last() end " \
		"if broken then return {5,0,broken,id,partial} end " \
		"for i,k in ipairs(KEYS) do " \
		"if value[i] then prolong(i,ARGV[2]) else put(i,ARGV[2]) " \
		"if not shared and i==seat and (ARGV[3]~='' or find(ARGV[4],'w',1,true)) then " \
		"try('DEL',head(i)) end " \
		"if type(t[i])=='string' then try('DEL',turn(i)) drop(i) " \
		"if not is_mine(t[i]) then try('DEL',line(i)) unclaimed=unclaimed or i " \
		"w=w-w%2^i+w%2^(i-1) end end end end " \
		"return {1,tonumber(ARGV[2]),unclaimed and t[unclaimed] or '',id," \
		"(unclaimed and (unclaimed-1)*65536 or 0)+w+unguarded,n}"

#define EXTEND(K) \
	SCRIPT_LOOK(K) \
	SCRIPT_OURS K##_STORE SCRIPT_SORT SCRIPT_ID SCRIPT_LINE \
		"if foreign then return other(foreign) end " \
		"if gone then return {-1,0,'','',marks(gone)} end " \
		"local w=0 for i=1,#KEYS do prolong(i,ARGV[2]) " \
		"if awaited(i) then w=w+2^(i-1) end end " \
		"return {1,tonumber(ARGV[2]),'',id,w}"

/* From here on: what parts with the keys does so with each that is ours, whatever the others are.
 */

/* The owner's name stays, so that waiters are told whose it was; a letter of the id changes, so
 * that a nested run that outlived the holder does not take the lock for held. Nobody will give it
 * back: the first in line is told, so that it looks when the key ends. */
#define LEAVE(K) \
	SCRIPT_LOOK(K) \
	SCRIPT_OURS K##_STORE SCRIPT_SORT SCRIPT_LINE SCRIPT_WAKE \
		"partial=0 for i,k in ipairs(KEYS) do local v=value[i] if v==ARGV[1] and v~='' " \
		"then " \
		"local left=sub(v,1,13)..'" TOKEN_LEFT "'..sub(v,15) " \
		"if mine[i] then enlist(i,left,ARGV[2]) remove(i) " \
		"else call('SET',k,left,'PX',ARGV[2]) end " \
		"if awaited(i) then push(i,1000,sub(v,1,40)) end end " \
		"end if foreign then return other(foreign) end if gone then return " \
		"{-1,0,'','',0} end " \
		"return {1,tonumber(ARGV[2]),'','',0}"

/* Wakes nobody, unless a hand-over came while this key was in its way. */
#define RELEASE(K) \
	SCRIPT_LOOK(K) \
	SCRIPT_OURS K##_STORE SCRIPT_SORT SCRIPT_LINE SCRIPT_WAKE \
		"partial=0 for i=1,#KEYS do if value[i]==ARGV[1] and remove(i) then " \
		"local t=try('GET',turn(i)) " \
		"if type(t)=='string' then if awaited(i) then pass(i,ARGV[5],true,t) " \
		"else try('DEL',turn(i)) end end end end " \
		"if foreign then return other(foreign) end " \
		"return {gone and -1 or 1,0,'','',0}"

/* The turn of a slot that was not used. */
#define ALONE_PASS_SLOT \
	"if own~='' and leaves then local used,any=own,own=='#0' " \
	"for j=1,awaited(1) and slots or 0 do own='#'..j " \
	"local t=try('GET',turn(1)) if type(t)~='string' then t=nil end " \
	"if (any or own==used) and call('EXISTS',base..own)==0 and not lies(own) then " \
	"pass(1,ARGV[2],true,t) end end return {1,0,'','',0} end "
#define AMONG_PASS_SLOT ""

/* Also when the key is gone already: nobody else wakes those who wait. Where it is another one's,
 * maybe only for the moment that an attempt takes to fail, the turn is left for that one to pass
 * on; where nobody is known to wait, for whoever asks, since that key may also just end. Who leaves
 * without having used its turn passes on that very turn; of a semaphore's, whose slot behind a
 * blocked pop is not known, any that is claimed: to be woken in vain costs less than a turn. Who
 * gives up has a word for those who gave way to it, and no say in a turn that a holder passed on:
 * if its own key was in the way of that, it is the one to tell. Among readers, who leaves the line,
 * or got in from it, has a word for the next. Which reader is the last one, each node sees for
 * itself: so the turn is kept only where it wakes somebody. */
#define HAND_OVER(K) \
	SCRIPT_LOOK(K) \
	SCRIPT_OURS K##_STORE SCRIPT_SORT SCRIPT_LINE SCRIPT_WAKE \
		"local leaves=find(ARGV[4],'l',1,true) " K##_PASS_SLOT \
		"local p,others,beyond=0,nil,tonumber(ARGV[6]) " \
		"for i,k in ipairs(KEYS) do local v=value[i] local far=beyond%2^i>=2^(i-1) " \
		"local t=try('GET',turn(i)) if type(t)~='string' then t=nil end " \
		"if find(ARGV[4],'d',1,true) then try('DEL',head(i)) end " \
		"if leaves and group[i] then beckon(i) " \
		"elseif mine[i] then p=math.max(p,ends[i]-clock()) if remove(i) then " \
		"if awaited(i) then pass(i,ARGV[2],true) else try('DEL',turn(i)) end end " \
		"elseif v and not ours(i) and not (text[i] and ARGV[4]=='b' and " \
		"sub(v,1,300)==ARGV[1]) " \
		"then others=others or i " \
		"if ARGV[4]=='' or (ARGV[4]=='g' and not t) then " \
		"pass(i,ARGV[2],not far and not awaited(i)) end " \
		"else if v then local left=call('PTTL',k) remove(i) " \
		"p=(left<0 or p<0) and -1 or math.max(p,left) end " \
		"local w=awaited(i) if t and not v and ARGV[4]=='g' then " \
		"elseif w or far then " \
		"pass(i,ARGV[2],w,(leaves or ARGV[4]=='g') and t or nil) " \
		"elseif v then try('DEL',turn(i)) end end end " \
		"partial=0 if others then return other(others) end " \
		"return {gone and -1 or 1,p,'','',0}"

/* Both matter: a stale client must not overtake, and a number never goes back. */
#define FENCE(K) \
	SCRIPT_LOOK(K) \
	SCRIPT_OURS SCRIPT_SORT SCRIPT_FENCE \
		"if foreign then return other(foreign) end " \
		"if gone then return {-1,0,'','',partial} end " \
		"if last()>tonumber(ARGV[3]) then return {2,0,'','',partial} end " \
		"number(tonumber(ARGV[3])) " \
		"return {1,call('PTTL',KEYS[1]),'','',0,tonumber(ARGV[3])}"

/* A turn that was not claimed is nobody's. Who waits here goes on waiting, as with ACQUIRE. */
#define LOOK(K) \
	SCRIPT_LOOK(K) \
	SCRIPT_OURS SCRIPT_SORT SCRIPT_ID SCRIPT_GUARD SCRIPT_LINE SCRIPT_LIST \
		K##_ELSEWHERE SCRIPT_STAY SCRIPT_HEED SCRIPT_FENCE \
		"local r=guard() " \
		"local n,w,o=last(),0,nil " \
		"for i=1,#KEYS do if awaited(i) then w=w+2^(i-1) end end " \
		"if foreign then o=other(foreign) o[4]=id o[5]=o[5]+w o[6]=n return elsewhere(o) " \
		"end " \
		"if not gone then o=other(1) o[2]=-1 for i,k in ipairs(KEYS) do " \
		"local p=ends[i] and ends[i]-clock() or call('PTTL',k) " \
		"if p>=0 and (o[2]<0 or p<o[2]) then o[2]=p end end " \
		"o[4]=id o[5]=w+(group[1] and 4194304 or 0) o[6]=n return o end " \
		"if r then return r end " \
		"for i,k in ipairs(KEYS) do local t=turn_of(i) " \
		"if is_late(i) then " \
		"return {2,call('PTTL',k),sub(group[i],1,300),id,marks(i)+w,n} end " \
		"if not value[i] and not group[i] and type(t)=='string' and not is_mine(t) and " \
		"not unused(i) then " \
		"return elsewhere({2,call('PTTL',turn(i)),'',id,marks(i)+w,n}) end end " \
		"return {-1,0,'',id,partial+w,n}"

/* Strings that carry our token, and what of it can be shown. A page that would be too long is asked
 * for again, with a smaller count. */
static const char script_scan[] =
	"local r=redis.call('SCAN',ARGV[1],'COUNT',ARGV[2],'TYPE','string') local page={} local "
	"n=0 "
	"for _,k in ipairs(r[2]) do local v=redis.pcall('GETRANGE',k,0,299) "
	"if type(v)=='string' and #k<=4096 and string.sub(v,41,41)==':' and "
	"not string.find(string.sub(v,1,40),'[^0-9a-f]') then "
	"local e=string.format('%d %d %.0f\\n',#k,#v,redis.call('PTTL',k))..k..v "
	"n=n+#e page[#page+1]=e end end "
	"if n>60000 then return {1,0,'',ARGV[1],1} end "
	"return {1,0,table.concat(page),r[1],0}";

/*
 * Redisson's lock is a hash, Symfony's a sorted set: the names in it are the holders'. Only what
 * looks like such a lock has a description with names in it, and only under these it is deleted: a
 * holder that extends its lock changes no name. Without a TTL it is no lock, and with more names
 * than one SCAN returns it is data.
 */
static const char script_break[] =
	"local k,names=KEYS[1],{} local t,left=redis.call('TYPE',k).ok,redis.call('PTTL',k) "
	"local scan=({hash='HSCAN',zset='ZSCAN'})[t] "
	"if left==-2 then return {-1,0,'','',0} end "
	"if scan and left>=0 then local r=redis.call(scan,k,'0','COUNT','64') "
	"if r[1]=='0' then for i=1,#r[2],2 do names[#names+1]=r[2][i] end end end "
	"table.sort(names) local v='('..t..')' "
	"for _,name in ipairs(names) do v=v..' '..name end "
	"if #v>300 then v=string.sub(v,1,250)..'... '..redis.sha1hex(v) end "
	"if #names>0 and v==ARGV[1] then redis.call('DEL',k) return {1,0,'','',0} end "
	"return {0,left,v,'',0}";

/*
 * WAIT follows in the same packet, so who has joined is blocked already when others are served. If
 * the key is free and its turn lies here, nobody else is: WAIT will take it, and nobody is left to
 * be known to wait. Else we are known to, for as long as it can take until we ask again. A turn
 * that was kept for somebody, when nobody is known to wait, is ours. Of a semaphore, all of this is
 * so for any of its slots; and if none is free, we ask again when the first of them ends. There is
 * no door where no readers are: who has the key by now, and never comes, would keep the line from
 * the turn.
 */
#define JOIN(K) \
	SCRIPT_LOOK(K) \
	SCRIPT_LINE SCRIPT_LIST SCRIPT_SETTLE \
		"settle(1) local v,room=value[1],group[1] and not value[1] " \
		"local p=(v or room) and call('PTTL',KEYS[1]) or 0 " \
		"local at,free,kept=tonumber(sub(own,2)),nil,nil " \
		"if own=='' then if not v and unused(1) then " \
		"try('DEL',line(1)) return {0,0,'','',0} end " \
		"else p=-1 for n=0,slots-1 do local j=(at+n-1)%slots+1 local k=base..'#'..j " \
		"local left=call('PTTL',k) if left==-2 then " \
		"local t=try('GET','redlock:turn:{'..k..'}') " \
		"if type(t)~='string' then free=free or j " \
		"elseif lies('#'..j) then try('DEL',line(1)) return {0,0,'','',0} " \
		"else kept=kept or {j,t} left=call('PTTL','redlock:turn:{'..k..'}') end end " \
		"if left>=0 and (p<0 or left<p) then p=left end end end " \
		"local keep=math.max(p,tonumber(ARGV[2]))+1000 " \
		"local k=try('PTTL',line(1)) if type(k)=='table' then return k end " \
		"local first=k<0 " \
		"if k<keep then k=try('SET',line(1),'1','PX',keep) " \
		"if k.err then return k end end " \
		"if group[1] and find(ARGV[4],'d',1,true) then " \
		"try('SET',head(1),'1','PX',keep) end " \
		"if own~='' then if free then return {1,0,'','',1,0,free} end " \
		"if kept and first then return {1,0,kept[2],'',1,0,kept[1]} end " \
		"if not v then return {2,p,'','',1} end end " \
		"if v then return {0,p,sub(v,1,300),'',marks(1)+1} end " \
		"if room and first then return {1,0,'','',1} end " \
		"if room then return {2,p,sub(group[1],1,300),'',marks(1)+1} end " \
		"local t=turn_of(1) t=type(t)=='string' and t or '' " \
		"if first or t=='' then return {1,0,t,'',1} end " \
		"return {2,call('PTTL',turn(1)),'','',1}"

#define BOTH(name, body) \
	static const char script_##name[] = body(ALONE), script_##name##_among[] = body(AMONG)

BOTH(acquire, ACQUIRE);
BOTH(extend, EXTEND);
BOTH(leave, LEAVE);
BOTH(release, RELEASE);
BOTH(hand_over, HAND_OVER);
BOTH(fence, FENCE);
BOTH(look, LOOK);
BOTH(join, JOIN);

_Static_assert(sizeof(script_acquire) + sizeof(script_hand_over) + 3072 < 16384,
	"an attempt and its release, with long names, are read in one go");
_Static_assert(sizeof(script_acquire_among) + sizeof(script_hand_over_among) + 640 < 16384,
	"a reader's, with short names");
_Static_assert(sizeof(script_hand_over_among) <= sizeof(script_acquire),
	"conn takes a release to be no longer than its attempt");

static const char *script_of(enum op op, bool among_readers)
{
	static const char *const scripts[][2] = {
		[OP_ACQUIRE] = {script_acquire, script_acquire_among},
		[OP_REPAIR] = {script_acquire, script_acquire_among},
		[OP_EXTEND] = {script_extend, script_extend_among},
		[OP_UNDO] = {script_release, script_release_among},
		[OP_HAND_OFF] = {script_hand_over, script_hand_over_among},
		[OP_EXPIRE] = {script_leave, script_leave_among},
		[OP_FENCE] = {script_fence, script_fence_among},
		[OP_LOOK] = {script_look, script_look_among},
		[OP_JOIN] = {script_join, script_join_among},
		[OP_BREAK] = {script_break, script_break},
	};

	return scripts[op][among_readers];
}

static bool has_slots(const struct wish *wish)
{
	return wish->slots > 1;
}

static void add(struct request *r, const char *arg)
{
	assert(r->argc < (int)(sizeof(r->argv) / sizeof(r->argv[0])));
	r->argv[r->argc] = arg;
	r->len[r->argc++] = strlen(arg);
}

void request_build(struct request *r, const struct wish *wish)
{
	r->argc = 0;
	if (wish->op == OP_WAIT) {
		snprintf(r->door, sizeof(r->door), "redlock:door:{%s}", wish->keys->key[0]);
		snprintf(r->wake, sizeof(r->wake), "redlock:wake:{%s}", wish->keys->key[0]);
		add(r, "BLPOP");
		if (wish->leads)
			add(r, r->door);
		add(r, r->wake);
		add(r, "0");
		return;
	}
	if (wish->op == OP_COMMAND) {
		for (int i = 0; wish->words[i]; i++)
			add(r, wish->words[i]);
		return;
	}
	if (wish->op == OP_SCAN) {
		snprintf(r->time, sizeof(r->time), "%d", wish->count);
		add(r, "EVAL");
		add(r, script_scan);
		add(r, "0");
		add(r, wish->token);
		add(r, r->time);
		return;
	}
	snprintf(r->time, sizeof(r->time), "%" PRId64, wish->time / USEC_MSEC);
	snprintf(r->turn_time, sizeof(r->turn_time), "%" PRId64, wish->turn_time / USEC_MSEC);
	snprintf(r->fence, sizeof(r->fence), "%" PRId64, wish->fence);
	snprintf(r->flags, sizeof(r->flags), "%s%s%s%s%s%s%s%s", wish->is_leaving ? "l" : "",
		wish->gives_up ? "g" : "", wish->is_waiting ? "w" : "", wish->is_fair ? "f" : "",
		wish->is_breaking ? "b" : "", wish->wants_fence ? "n" : "",
		wish->is_shared ? "s" : "", wish->leads ? "d" : "");
	snprintf(r->which, sizeof(r->which), "%u",
		wish->op == OP_HAND_OFF ? wish->awaited : (unsigned)wish->seat_key + 1);
	snprintf(r->quarantine, sizeof(r->quarantine), "%" PRId64, wish->quarantine / USEC_MSEC);
	snprintf(r->wall, sizeof(r->wall), "%" PRId64, wish->wall);
	snprintf(r->count, sizeof(r->count), "%d", wish->keys->count);
	add(r, "EVAL");
	add(r, script_of(wish->op, wish->among_readers && !has_slots(wish)));
	add(r, r->count);
	/* Others' limit may be larger. */
	snprintf(r->slots, sizeof(r->slots), "%d",
		wish->slots > 1 && wish->slot > wish->slots ? wish->slot : wish->slots);
	snprintf(r->slot_key, sizeof(r->slot_key), "%s#%d", wish->keys->key[0], wish->slot);
	for (int i = 0; i < wish->keys->count; i++)
		add(r, has_slots(wish) ? r->slot_key : wish->keys->key[i]);
	add(r, wish->token);
	if (wish->token_len)
		r->len[r->argc - 1] = wish->token_len;
	add(r, r->time);
	add(r, wish->op == OP_FENCE ? r->fence : wish->turn ? wish->turn : "");
	add(r, r->flags);
	add(r, r->turn_time);
	add(r, r->which);
	add(r, r->quarantine);
	add(r, r->wall);
	add(r, has_slots(wish) ? wish->keys->key[0] : "");
	add(r, r->slots);
	add(r, wish->held ? wish->held : "");
}

const char *reason_words(enum reason reason)
{
	static const char *const words[] = {
		[REASON_NONE] = "was not asked",
		[REASON_UNRESOLVED] = "its name does not resolve",
		[REASON_CONNECT] = "cannot be reached",
		[REASON_CLOSED] = "closed the connection",
		[REASON_CONNECT_TIMEOUT] = "did not accept the connection in time",
		[REASON_TLS_TIMEOUT] =
			"did not begin with TLS in time, as a port without it would not",
		[REASON_NOT_TLS] = "does not speak TLS",
		[REASON_SPEAKS_TLS] = "speaks TLS only",
		[REASON_TLS] = "cannot agree with us on TLS",
		[REASON_UNTRUSTED] = "cannot be trusted",
		[REASON_CLIENT_CERTIFICATE] = "wants a client certificate, or another one",
		[REASON_TIMEOUT] = "did not answer in time",
		[REASON_NOT_READY] = "was not ready yet",
		[REASON_LOADING] = "is still loading its data",
		[REASON_READONLY] = "is a read-only replica",
		[REASON_MISCONF] = "refuses writes because it cannot save to disk",
		[REASON_OOM] = "is out of memory",
		[REASON_NOAUTH] = "wants a password, or another one",
		[REASON_NO_PASSWORD] = "has no password, and was given one",
		[REASON_NOPERM] = "does not permit this user to do it",
		[REASON_MOVED] = "is a cluster member",
		[REASON_CLUSTERDOWN] = "belongs to a cluster that is down",
		[REASON_MASTERDOWN] = "is a replica without its master",
		[REASON_NOREPLICAS] = "refuses writes because it has too few replicas",
		[REASON_BUSY] = "is busy with a script",
		[REASON_MAXCLIENTS] = "has too many clients",
		[REASON_SERVER] = "answered with an error",
		[REASON_GARBAGE] = "does not speak the Redis protocol",
		[REASON_QUARANTINE] = "is in quarantine",
		[REASON_SKEWED] = "has another time of day",
		[REASON_COUNTER] = "has a fencing counter that is no number, or at its limit",
		[REASON_TOO_LONG] = "answered at excessive length",
	};

	return words[reason];
}

/* By the first words of the server's error, unwrapped. */
static enum reason classify(const char *text)
{
	static const struct {
		const char *start;
		enum reason reason;
	} table[] = {
		{"LOADING", REASON_LOADING},
		{"READONLY", REASON_READONLY},
		{"MISCONF", REASON_MISCONF},
		{"OOM", REASON_OOM},
		{"NOAUTH", REASON_NOAUTH},
		{"WRONGPASS", REASON_NOAUTH},
		{"ERR AUTH", REASON_NO_PASSWORD},
		{"ERR invalid password", REASON_NOAUTH},
		{"ERR Client sent AUTH", REASON_NO_PASSWORD},
		/* From strangers, no more than ten words. */
		{"ERR Protocol error: unauthenticated", REASON_NOAUTH},
		{"NOPERM", REASON_NOPERM},
		{"ERR The user executing the script", REASON_NOPERM},
		{"The user executing the script", REASON_NOPERM}, /* before 7.0 */
		{"ERR ACL failure in script", REASON_NOPERM}, /* since 7.2 */
		{"MOVED", REASON_MOVED},
		{"ASK ", REASON_MOVED},
		{"CLUSTERDOWN", REASON_CLUSTERDOWN},
		{"MASTERDOWN", REASON_MASTERDOWN},
		{"NOREPLICAS", REASON_NOREPLICAS},
		{"BUSY", REASON_BUSY},
		{"ERR max number of clients", REASON_MAXCLIENTS},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strncmp(text, table[i].start, strlen(table[i].start)) == 0)
			return table[i].reason;
	return REASON_SERVER;
}

/*
 * Before 7.0, and in KeyDB, Redis puts the place in the script before the reason: "ERR Error
 * running script (call to f_4e6d...): @user_script:1: @user_script: 1: -READONLY You can't ...".
 * Redis 7 puts it at the end: "READONLY You can't ... script: 4e6d..., on @user_script:1.".
 */
static size_t unwrap(const char **error)
{
	const char *at = *error, *end;

	if (strncmp(at, "ERR Error running script (", 26) == 0 && (end = strstr(at, "): ")))
		at = end + 3;
	while (*at == '@' && (end = strstr(at, ": "))) {
		size_t digits = strspn(end + 2, "0123456789");

		at = end + 2;
		if (digits > 0 && strncmp(at + digits, ": ", 2) == 0)
			at += digits + 2;
	}
	at += *at == '-';
	*error = at;
	end = strstr(at, " script: ");
	return end && strstr(end, ", on @user_script:") ? (size_t)(end - at) : strlen(at);
}

/* The server's own words, by which it is classified. */
static struct reply read_error(const char *text)
{
	size_t len = unwrap(&text);
	struct reply a = reply_absent(classify(text), text);

	a.text_len = len;
	a.text[len] = '\0';
	return a;
}

/* What PTTL says. Times are added to it: one that is longer than any that we set is no end. */
static usec left_of(int64_t pttl)
{
	return pttl < 0 || pttl > DURATION_MAX / USEC_MSEC ? NEVER : pttl * USEC_MSEC;
}

/* {list, element}: woken; the element is our turn, and of a semaphore, behind it, its slot. */
static struct reply read_wake(const struct resp *resp)
{
	const struct resp_item *turn = &resp->item[1];
	struct reply a = {.vote = VOTE_YES};
	long slot;

	if (!resp->is_array || resp->count != 2 || resp->item[0].type != RESP_STRING ||
		turn->type != RESP_STRING)
		return reply_absent(REASON_GARBAGE, NULL);
	a.text_len = turn->len;
	memcpy(a.text, turn->text, turn->len + 1);
	if (turn->len > TOKEN_ID_LEN && turn->text[TOKEN_ID_LEN] == '#' &&
		text_number(turn->text + TOKEN_ID_LEN + 1, 1, SLOTS_MAX, &slot)) {
		a.slot = (int)slot;
		a.text_len = TOKEN_ID_LEN;
	}
	return a;
}

/* Whatever it is. */
static struct reply read_any(const struct resp *resp)
{
	const struct resp_item *last = &resp->item[resp->count > 0 ? resp->count - 1 : 0];
	struct reply a = {.vote = VOTE_YES};

	if (resp->count > 0 && last->type == RESP_INTEGER)
		snprintf(a.text, sizeof(a.text), "%" PRId64, last->integer);
	else if (resp->count > 0 && last->type != RESP_NIL)
		memcpy(a.text, last->text, last->len + 1);
	a.text_len = strlen(a.text);
	return a;
}

/* The number, and of a semaphore a slot and when the first of all ends. */
static bool read_rest(struct reply *a, const struct resp *resp)
{
	const struct resp_item *item = resp->item;

	for (int i = 5; i < resp->count; i++)
		if (item[i].type != RESP_INTEGER || (i < 7 && item[i].integer < 0))
			return false;
	if ((resp->count > 5 && item[5].integer > FENCE_MAX) ||
		(resp->count > 6 && item[6].integer > SLOTS_MAX))
		return false;
	a->fence = resp->count > 5 ? item[5].integer : 0;
	a->slot = resp->count > 6 ? (int)item[6].integer : 0;
	a->soonest = resp->count > 7 ? left_of(item[7].integer) : a->pttl;
	return true;
}

struct reply reply_read(enum op op, const struct resp *resp)
{
	const struct resp_item *item = resp->item, *text;
	struct reply a = {.vote = VOTE_NONE};

	if (!resp->is_array && resp->count == 1 && item[0].type == RESP_ERROR)
		return read_error(item[0].text);
	if (op == OP_WAIT)
		return read_wake(resp);
	if (op == OP_COMMAND)
		return read_any(resp);
	if (!resp->is_array || resp->count < 5 || resp->count > RESP_ITEMS_MAX ||
		item[0].type != RESP_INTEGER || item[1].type != RESP_INTEGER ||
		item[2].type != RESP_STRING || item[3].type != RESP_STRING ||
		item[3].len >= sizeof(a.run_id) || item[4].type != RESP_INTEGER ||
		item[4].integer < 0 || item[4].integer >= 2 * MARK_SHARED)
		return reply_absent(REASON_GARBAGE, NULL);
	switch (item[0].integer) {
	case 1:
		a.vote = VOTE_YES;
		break;
	case 2:
		a.is_reserved = true;
		a.vote = VOTE_FOREIGN;
		break;
	case 0:
		a.vote = VOTE_FOREIGN;
		break;
	case -1:
		a.vote = VOTE_GONE;
		break;
	case 3:
		a.vote = VOTE_ABSENT;
		a.reason = REASON_QUARANTINE;
		break;
	case 4:
		if (strcmp(item[2].text, "ahead of") != 0 && strcmp(item[2].text, "behind") != 0)
			return reply_absent(REASON_GARBAGE, NULL);
		a.vote = VOTE_ABSENT;
		a.reason = REASON_SKEWED;
		break;
	case 5:
		a.vote = VOTE_ABSENT;
		a.reason = REASON_COUNTER;
		break;
	default:
		return reply_absent(REASON_GARBAGE, NULL);
	}
	a.pttl = left_of(item[1].integer);
	if (!read_rest(&a, resp))
		return reply_absent(REASON_GARBAGE, NULL);
	/* The text of a page is elsewhere: its place is free for the cursor, which is no run id. */
	text = op == OP_SCAN ? &item[3] : &item[2];
	a.text_len = text->len;
	memcpy(a.text, text->text, text->len + 1);
	if (op != OP_SCAN)
		memcpy(a.run_id, item[3].text, item[3].len + 1);
	a.awaited = (unsigned)(item[4].integer % MARK_INDEX);
	a.key = (int)(item[4].integer % MARK_PARTIAL / MARK_INDEX);
	a.is_partial = (item[4].integer & MARK_PARTIAL) != 0;
	a.is_unguarded = (item[4].integer & MARK_UNGUARDED) != 0;
	a.is_shared = (item[4].integer & MARK_SHARED) != 0;
	return a;
}

bool page_next(const char **at, const char *end, struct page_entry *entry)
{
	int64_t number[3] = {0};
	const char *p = *at;

	for (int i = 0; i < 3; i++) {
		bool negative = p < end && *p == '-';

		for (p += negative; p < end && *p >= '0' && *p <= '9' && number[i] < NEVER / 20000;
			p++)
			number[i] = number[i] * 10 + (*p - '0');
		if (p >= end || *p++ != (i < 2 ? ' ' : '\n'))
			return false;
		number[i] = negative ? -1 : number[i];
	}
	if (number[0] < 0 || number[1] < 0 || number[0] > end - p ||
		number[1] > end - p - number[0])
		return false;
	*entry = (struct page_entry){
		.key = p,
		.key_len = (size_t)number[0],
		.value = p + number[0],
		.value_len = (size_t)number[1],
		.pttl = left_of(number[2]),
	};
	*at = p + number[0] + number[1];
	return true;
}
