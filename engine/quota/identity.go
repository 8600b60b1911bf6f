package quota

import (
	"dialler/engine"
	"dialler/engine/ownership"
)

// Shards is the number of counts that the outbound numbers are divided into. With one each, a
// node's death would need a claim for every number, and a campaign may have thousands.
const Shards = 32

// Trunk is the identity of a trunk's count.
func Trunk(id engine.TrunkID) ownership.Identity {
	return ownership.Identity{Kind: ownership.Trunk, ID: string(id)}
}

// Seats is the identity of a bot's count.
func Seats(id engine.BotID) ownership.Identity {
	return ownership.Identity{Kind: ownership.Fleet, ID: string(id)}
}

// Shard is the identity of the count that a number belongs to.
func Shard(n engine.PhoneNumber) ownership.Identity {
	h := uint32(2166136261)
	for i := range len(n) {
		h = (h ^ uint32(n[i])) * 16777619
	}
	h = (h ^ h>>15) % Shards
	return ownership.Identity{Kind: ownership.Number, ID: string([]byte{'0' + byte(h/10), '0' + byte(h%10)})}
}
