// Package eligibility is the question whether a contact may be called now, which is put to a system
// of the operator's own before each dial, and the meaning of its answer or silence.
//
// It must not know: how the question travels, and what happens to the contact.
//
// Invariants:
//   - Any answer, or none, leads to one of three verdicts: dial, wait until
//     a time, exclude for good.
//   - Only a well-formed answer excludes a contact for good; everything else is
//     judged by the operator's choice for a hook that does not answer.
//   - A contact waits at least LeastDeferral and at most MostDeferral.
//   - A hook that fails repeatedly is not asked for a while (Breaker), so
//     that it does not delay dials.
package eligibility
