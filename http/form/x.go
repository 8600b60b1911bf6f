package form
