// Tip of a bar, 0.1 m long and 5 mm high, that flies into a rigid plane: its last fifth, structured quadrilaterals.
//   gmsh bar_tip.geo -2 -format msh41 -o bar_tip.msh
// Change a size with -setnumber, such as: gmsh bar_tip.geo -2 -setnumber nx 200 -setnumber ny 40 ...

DefineConstant[
  x0 = 0.08     // inner end, where the tip is glued (m)
  x1 = 0.1      // contact end (m)
  height = 0.005
  nx = 80       // cells along the bar
  ny = 20       // cells across
];

Point(1) = {x0, 0, 0};
Point(2) = {x1, 0, 0};
Point(3) = {x1, height, 0};
Point(4) = {x0, height, 0};
Line(1) = {1, 2};
Line(2) = {2, 3};
Line(3) = {3, 4};
Line(4) = {4, 1};
Curve Loop(1) = {1, 2, 3, 4};
Plane Surface(1) = {1};

Transfinite Curve {1, 3} = nx + 1;
Transfinite Curve {2, 4} = ny + 1;
Transfinite Surface {1};
Recombine Surface {1};

Physical Curve("bottom", 1) = {1};
Physical Curve("right", 2) = {2};
Physical Curve("top", 3) = {3};
Physical Curve("left", 4) = {4};
Physical Surface("tip", 5) = {1};
