package main

import "github.com/alecthomas/kong"

// help has the longer texts of --help. Tags refer to them: ${help_amd_train}.
var help = kong.Vars{
	"help_amd_train": "Train the model on labelled recordings; the same recordings and seed give the same model.",
	"help_amd_recorded": "Make recordings of people and machines of the real speech " +
		"in Debian's packages, to train on: needs sox.",
	"help_amd_greetings": "Make synthesised recordings of people and machines that " +
		"answer, to train on: needs espeak-ng, flite and festival.",
	"help_amd_sounds": "Add the column sounds to a folder's labels.csv, or renew it: what " +
		"is said, a letter a sound, where detail says it: needs espeak-ng.",
	"help_amd_eval_cross_validate": "Train anew with --with alone, without the voices, then " +
		"without the sources, that are measured.",
	"help_amd_eval_beside":  "Folders to cross-validate together with the first one.",
	"help_amd_eval_net":     "Cross-validate rules for the nets of these model files, as they are.",
	"help_amd_train_beside": "Folders that the rule is tuned with as with the first one; no net learns from them.",
	"help_amd_train_net":    "Keep the nets of these model files, tune the rule alone.",
	"help_amd_train_pace": "Learning rate of Adam, 0.00001 to 0.01; it falls to 0 over " +
		"the last quarter of the epochs.",
	"help_amd_greetings_engine": "Said by these synthesisers alone: espeak, flite, fest, pico " +
		"(SVOX Pico, of Debian's section non-free).",
	"help_amd_recorded_root": "Folder in which the packages are unpacked: asterisk-core-sounds-*-wav, " +
		"asterisk-prompt-*, tuxpaint-stamps-default, ktuberling-data, " +
		"klettres-data, fillets-ng-data with -cs and -nl, hedgewars-data.",
	"help_amd_recorded_only": "Of these families alone: asterisk, tuxpaint, ktuberling, klettres, fillets, hedgewars.",
}
