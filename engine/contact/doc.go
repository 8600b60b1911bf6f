// Package contact is the state machine of one person in one campaign: what the end of an attempt, a
// result, an exclusion, a callback or the end of the run means for when, and whether, the person is
// dialled again.
//
// It must not know how a call is made or paced; it learns of an attempt only through Attempted (the
// end) and Reached (the bot has the call).
//
// Invariants: nothing but the transition table assigns the state; a contact has at most one live
// attempt, and none is reserved for a contact that does not wait for a dial; Used never exceeds Max
// by more than the one attempt of a callback; an excluded or processed contact has no due time; an
// open contact waits for a dial, an attempt or a result, so that something will happen to it; an
// attempt's end is counted once.
//
// Decisions where the specification is silent:
//
//   - A contact waits when it has a due time and no live attempt. One that only
//     waits for a result is not closed with its run: the result, or its
//     time-out, decides.
//   - A short conversation (Redial Only Under) without a result waits for its
//     redial and for its result at once. The result is stored when it comes; it
//     cancels the redial only if it asks for a callback or do_not_call. The wait
//     for it ends with the next dial or with the run.
//   - A conversation that a fault ended (media_error, lost) is judged by its length
//     like any other; its result is not waited for.
//   - Stop Redials After is judged by the longest conversation since the contact
//     was given its attempts, and by the current limit.
//   - do_not_call takes precedence over a callback that the same result asks for.
//   - A retry that falls after the end of a single-day window keeps its due
//     time and is window_closed with the others; it is not brought forward.
//   - A contact of several zones whose window is open in all of them at no hour
//     is failed with the reason window_never_opens when its turn comes: it would
//     hold the campaign open forever. Where only calendars keep it closed, an edit
//     may open it: the contact waits, and its turn comes again each day.
//   - A machine whose retries are used up stays machine_detected.
//   - A suppressed number (outcome blocked, never sent) is final at once. A contact
//     that waits for a dial when its number is suppressed becomes final then, or
//     what its result made it if one is stored; an expected result is awaited.
//   - A contact that is excluded again keeps the reason, unless there is a new one.
//   - A result of a call without a conversation says nothing about the contact, nor
//     does one of an earlier run, or one from before it was reopened.
//   - A result of an earlier attempt that asks for nothing more counts when the live
//     one reaches nobody, as it does a moment later: no redial, and completed. An
//     attempt that leads to a conversation is judged by its own result.
//   - A callback is requested while the call with the request is live, pending once
//     it has a due time, completed when its attempt was consumed. A request that is
//     not granted is recorded as cancelled. A result without a request does not
//     cancel a pending callback.
//   - Reopening (trigger, added again) gives fresh attempts; the contact's earlier
//     results in the run stay in the counters.
//   - An unconsumed attempt leaves the contact in its place of the order.
//   - An operator's action on one contact (dial it now, call it at a time) is granted
//     or refused by the state at that moment (Refusal). Dial now treats it as if
//     added by trigger; a time is a callback; a final contact is reopened as a
//     trigger reopens it. An excluded one is called only when it is added again.
package contact
