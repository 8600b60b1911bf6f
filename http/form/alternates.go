package form

import (
	"strconv"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/number"
)

// AlternatesField is the list of a person's numbers beside the first.
const AlternatesField = "alternates"

// Alternates reads a person's numbers beside the first. callees are they as numbers that may be called,
// "" where one is wrong.
func (f Form) Alternates(first engine.PhoneNumber) (a contact.Alternates, callees []number.Callee) {
	if !f.Has(AlternatesField) {
		return "", nil
	}
	v := f.Find(AlternatesField)
	if v.Kind != Array {
		f.WrongType(AlternatesField, Array, v.Kind)
		return "", nil
	}
	before := len(f.Errs.List)
	list := make([]contact.Alternate, 0, len(v.Items))
	for i := range v.Items[:min(len(v.Items), contact.NumbersCap)] {
		at := AlternatesField + "[" + strconv.Itoa(i) + "]"
		if v.Items[i].Kind != Object {
			f.WrongType(at, Object, v.Items[i].Kind)
			continue
		}
		item := Form{Value: &v.Items[i], Path: f.Name(at), Errs: f.Errs}
		to := item.Callee("number")
		list = append(list, contact.Alternate{Number: to.Number, Label: item.Text("label", Optional, contact.LabelCap)})
		callees = append(callees, to)
		item.Done()
	}
	if len(f.Errs.List) > before {
		return "", callees
	}
	for _, wrong := range contact.CheckAlternates(AlternatesField, first, list) {
		f.Fail(wrong.Field, wrong.Code, wrong.Message)
	}
	return contact.NewAlternates(list), callees
}
