// The Step view.
