// To another address: what it does not name stays as it is.
function go(changes) {
  const address = hashValues();
  for (const [name, value] of Object.entries(changes)) address.set(name, value);
  location.hash = "#" + address.toString();
}
