// Package eligibility is the question that is put to a system of the operator's
// own before each dial, whether a contact may be called now, and what its answer,
// or its silence, means.
//
// It must not know: how the question travels, and what becomes of the contact.
//
// Invariants:
//   - Whatever comes back, or does not, is one of three verdicts: dial, wait until
//     a time, leave alone for good.
//   - Only a well-formed answer leaves somebody alone for good; everything else is
//     judged by the operator's choice for a hook that says nothing.
//   - A contact waits at least LeastDeferral and at most MostDeferral.
//   - A hook that fails again and again is left alone for a while (Breaker), so
//     that it costs no dial its time.
package eligibility
