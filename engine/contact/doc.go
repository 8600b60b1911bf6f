// Package contact is the state machine of one person in one campaign: what
// the end of an attempt, a result, an exclusion, a callback or the end of the
// run means for when, and whether, the person is dialled again.
//
// It must not know how a call is made or paced; it learns of an attempt only
// through Attempted (the end) and Reached (the bot has the call).
//
// Invariants: nothing but the transition table assigns the state; a contact
// has at most one live attempt, and none is reserved for one that does not wait
// for a dial; Used never exceeds Max by more than the one attempt of a
// callback; an excluded or processed contact has no due time; an open contact
// waits for a dial, an attempt or a result, so that something will happen to
// it; an attempt's end is in the books once.
//
// Decisions where the specification is silent:
//
//   - A contact waits when it has a due time and no live attempt. One that only
//     waits for a result is not closed with its run: the result, or its
//     time-out, decides.
//   - A short conversation (Redial Only Under) without a result waits for its
//     redial and for its result at once. The result is stored when it comes; it
//     takes the redial away only by a callback or do_not_call. The wait for it
//     ends with the next dial or with the run.
//   - A conversation that a fault ended (media_error, lost) is judged by its length
//     like any other; its result is not waited for.
//   - Stop Redials After is judged by the longest conversation since the contact
//     was given its attempts, and by the limit that holds now.
//   - do_not_call comes before a callback that the same result asks for.
//   - A retry that falls behind the end of a single-day window keeps its due
//     time and is window_closed with the others; it is not hurried.
//   - A contact of several zones whose window is open in all of them at no hour
//     is failed with the reason window_never_opens when its turn comes: it would
//     hold the campaign open forever.
//   - A machine whose retries are used up stays machine_detected.
//   - A suppressed number (outcome blocked, never sent) is final at once. A contact
//     that waits for a dial when its number is suppressed is final then, and what
//     its result made it if one is stored; a result that is owed is awaited.
//   - Who is excluded once more keeps the reason, unless it brings another one.
//   - A result of a call that came to no conversation says nothing of the
//     contact, nor does one of an earlier run, or one from before it was reopened.
//   - A result of an earlier attempt that asks for nothing more counts when the live
//     one reaches nobody, as it does a moment later: no redial, and completed. An
//     attempt that comes to a conversation speaks for itself.
//   - A callback is requested while the call that brought the wish lives,
//     pending once it is due at a time, completed when its attempt was
//     consumed. A wish that is not granted is recorded as cancelled. A result
//     without a wish does not take a pending callback away.
//   - Reopening (trigger, added again) gives fresh attempts; what the contact
//     came to before in the run stays in the counters.
//   - An unconsumed attempt leaves the contact in its place of the order.
//   - An operator's word on one contact (dial it now, call it at a time) is granted
//     or refused as it stands then (Refusal). Dialled now means as one that was
//     added by trigger; a time is a callback; a final contact is reopened as a
//     trigger reopens it. An excluded one is called when it is added again, not so.
package contact
