// Package corpus reads labelled recordings of answered calls, and degrades them: other levels,
// codecs, losses, noises, rooms and speeds.
//
// A corpus is a folder with WAV files and a labels.csv whose first line names its columns: file
// (path within the folder) and label are required; real (1 or 0), voice and license_source say what
// to keep apart in cross-validation.
//
// # What it must not know
//
// How calls are classified.
//
// # Invariants
//
//   - The same seed gives the same result.
//   - Files over 16 MiB are refused.
package corpus
