let sum = 0;
function inner(n) {
  for (let i = 0; i < n; i++) sum = (sum + i * i) | 0;
}
function middle(n) {
  inner(n);
  sum++;
}
function outer(n) {
  middle(n);
  sum++;
}
const end = Date.now() + 800;
while (Date.now() < end) outer(20000);
