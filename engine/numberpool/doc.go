// Package numberpool holds the rules of outbound numbers: what one number may carry (Slot), and
// which number of a pool a contact is called from (Choose).
//
// What it must not know: campaigns, trunks, how numbers are written (area and country keys come
// from engine/number).
//
// Invariants:
//
//   - A slot's held count is the number of its live leases, one per attempt.
//   - No 60 minutes contain more dials than the hour cap, no 24 hours more than
//     the day cap. The windows roll; they are kept in buckets of a minute and of
//     ten minutes and rounded to the safe side, so a dial may count up to one
//     bucket longer than its hour or day.
//   - A number that is quarantined or retired is given to nobody; its live
//     leases end in their own time.
//
// Decisions where the specification is silent: rest is counted from the end of a call; a dial that
// certainly never left gives its place in the caps back and causes no rest. A number is quarantined
// when five of its last twenty ended calls were refusals of the caller ID: single 403s happen to
// every number that calls strangers. The operator ends a quarantine. The answer rate is monitored,
// and raises an alarm for people (Alarm); no call is held for it. What a slot knows about ended
// calls is restored after a restart (Recall), except strikes that an operator forgave.
package numberpool
